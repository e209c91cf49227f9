/** Marks over the strip and the heat map: the selected range and the current token. */

import type { TokenSample } from "../../../lib/tokens/sample/tokenSample";
import { useSession } from "../../../state/useSession";
import style from "./Strip.module.css";

export function Marks({ tokens }: { tokens: TokenSample }) {
  const { tokenLook: look } = useSession();
  const [range, at, pointed] = [look.range.value, look.chosen.value, look.pointed.value];
  const left = (token: number): string => `${percentOf(tokens, token)}%`;
  return (
    <>
      {range !== null && (
        <i
          class={style["range"]}
          style={{ left: left(range.from), width: `${percentOf(tokens, range.stop) - percentOf(tokens, range.from)}%` }}
        />
      )}
      {at !== null && at >= tokens.start && <i class={style["here"]} style={{ left: left(at + 0.5) }} />}
      {pointed !== null && pointed.token >= tokens.start && (
        <i class={style["pointed"]} style={{ left: left(pointed.token + 0.5) }} />
      )}
    </>
  );
}

/** The distance of a token from the left. */
const percentOf = ({ start, count }: TokenSample, token: number): number =>
  (100 * (Math.max(start, token) - start)) / (count - start);
