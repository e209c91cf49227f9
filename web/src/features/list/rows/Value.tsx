/** A value of a sample: a dot in its colour, and the number in ink; pressed, it offers to filter by it. */

import { useSession } from "../../../state/useSession";
import type { Session } from "../../../state/session";
import type { WireNumber } from "../../../api/types.gen";
import { exact, figure, score, signed, toNumber } from "../../../lib/numbers/numbers";
import { cellColour } from "../../../lib/colour/scales";
import { SHORT } from "../../../state/run/columns";
import { Text } from "../../../ui/text/Text";
import style from "./Row.module.css";

/** A value in words, as its column has it. */
export function said(session: Session, name: string, value: WireNumber): string {
  if (session.columns.named(name)?.kind === "text") return value === null ? "" : String(value);
  const { kind } = session.columns.scale(name);
  if (kind === "score") return score(value, "–");
  return kind === "signed" ? signed(value, "–") : figure(value, "–");
}

/** A name where there is little room: the last part of a path. */
const short = (session: Session, name: string): string =>
  SHORT.get(name) ??
  (session.columns.label(name) === name
    ? (name.split(/[./]/).at(-1) ?? name)
    : session.columns.label(name).toLowerCase());

export function Value({ name, value, isFirst = false }: { name: string; value: WireNumber; isFirst?: boolean }) {
  const session = useSession();
  const background = cellColour(session.columns.scale(name), toNumber(value));
  return (
    <span
      class={`${style["value"]} ${isFirst ? style["first"] : ""}`}
      data-column={name}
      title={`${session.columns.label(name)}: ${exact(value)}. Press to filter by it`}
    >
      {session.columns.named(name)?.kind !== "text" && (
        <i
          class={background === null ? style["none"] : undefined}
          style={background === null ? undefined : { background }}
        />
      )}
      {!isFirst && (
        <span class="quiet">
          <Text text={short(session, name)} />{" "}
        </span>
      )}
      <Text text={said(session, name, value)} />
    </span>
  );
}
