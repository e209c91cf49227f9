/** The classes of findings, and what each means. */

export const CLASSES: Readonly<Record<string, string>> = {
  suspect: "paid and on the rise, though the answers are no more often correct: read these first",
  unverified: "paid and on the rise, in a run that does not say which answers are correct",
  earned: "paid as correct answers are",
  watch: "paid, but not on the rise",
  drift: "on the rise, but not paid",
};

/** The classes whose samples are open from the start. */
export const isUrgent = (kind: string): boolean => kind === "suspect" || kind === "unverified";
