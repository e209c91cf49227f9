/** A chart that follows the others once they rest while it is far from the screen: then they are drawn sooner. */

import type { ComponentProps } from "preact";
import { useMemo, useRef } from "preact/hooks";
import { useSession } from "../../state/useSession";
import { useWhenNear } from "../charts";
import { ChartCard } from "./ChartCard";
import { askedOf } from "./choice";

export function NearCard(props: Omit<ComponentProps<typeof ChartCard>, "host" | "asked">) {
  const session = useSession();
  const host = useRef<HTMLElement>(null);
  const asked = askedOf(session, props.entry.chart);
  const shown = useWhenNear(host, { ...props, asked }, `${props.curves === undefined} ${props.isMissing}`);
  return useMemo(() => <ChartCard {...shown} host={host} />, [shown]);
}
