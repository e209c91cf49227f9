/** A name or a path: it breaks behind what joins its words before it breaks inside one. */

import { Fragment } from "preact";
import { Text } from "./Text";

const BEHIND_JOINTS = /(?<=[/\\._-])(?=[^/\\._-])/;

export function Name({ text }: { text: string }) {
  return (
    <>
      {text.split(BEHIND_JOINTS).map((part, i) => (
        // The parts of a name never change their order: their place is their identity.
        <Fragment key={i}>
          {i > 0 && <wbr />}
          <Text text={part} />
        </Fragment>
      ))}
    </>
  );
}
