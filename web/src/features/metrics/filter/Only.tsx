/** Says which samples a chart counts, if not all of the page's split. */

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
