/** The path of a file: it breaks behind its slashes before it breaks inside a name. */

import { Fragment } from "preact";
import { Text } from "./Text";

export function Path({ path }: { path: string }) {
  const parts = path.split(/(?<=[/\\])/);
  return (
    <>
      {parts.map((part, i) => (
        // The parts of a path never change their order: their place is their identity.
        // oxlint-disable-next-line react/no-array-index-key
        <Fragment key={i}>
          {i > 0 && <wbr />}
          <Text text={part} />
        </Fragment>
      ))}
    </>
  );
}
