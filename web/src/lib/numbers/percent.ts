/** A share in words. */

/** A share in percent with two figures, `1.3 %`; a dash without one. */
export function percent(share: number): string {
  if (!Number.isFinite(share)) return "–";
  const hundredths = share * 100;
  return `${hundredths >= 10 ? Math.round(hundredths) : Number(hundredths.toPrecision(2))} %`;
}
