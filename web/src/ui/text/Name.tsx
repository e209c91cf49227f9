/** A name or a path, which breaks after separators if possible. */

import { Fragment } from "preact";
import { Text } from "./Text";

const BEHIND_JOINTS = /(?<=[/\\._-])(?=[^/\\._-])/;

export function Name({ text }: { text: string }) {
  return (
    <>
      {text.split(BEHIND_JOINTS).map((part, i) => (
        // The parts of a name never change their order, so their index identifies them.
        <Fragment key={i}>
          {i > 0 && <wbr />}
          <Text text={part} />
        </Fragment>
      ))}
    </>
  );
}
