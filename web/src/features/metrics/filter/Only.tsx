/** Which samples a chart counts, where these are not all of the split of the page. */

import { Text } from "../../../ui/text/Text";
import style from "../Metrics.module.css";

export function Only({ where, split }: { where: string; split: string }) {
  if (where === "" && split === "") return null;
  return (
    <p class={style["only"]}>
      {where !== "" && (
        <>
          only{" "}
          <code>
            <Text text={where} />
          </code>
        </>
      )}
      {split !== "" && (
        <>
          {" "}
          of <Text text={split} />
        </>
      )}
    </p>
  );
}
