/** The list's data about a sample, while the sample itself is loading. */

import type { SampleItem } from "../../api/types.gen";
import { figure, score } from "../../lib/numbers/numbers";
import { Section } from "./transcript/Section";
import header from "./Header.module.css";
import facts from "./Facts.module.css";
import pane from "./SamplePane.module.css";
import { Text } from "../../ui/text/Text";

export function Outline({ id, item }: { id: string; item: SampleItem | null }) {
  return (
    <>
      <header class={header["header"]}>
        <div class={header["first"]}>
          <h1>Loading …</h1>
          <span class={header["id"]}>{id}</span>
        </div>
        {item !== null && (
          <dl class={facts["facts"]}>
            <div>
              <dt>Reward</dt>
              <dd>{score(item.reward, "none")}</dd>
            </div>
            <div>
              <dt>Turns</dt>
              <dd>{figure(item.turns)}</dd>
            </div>
          </dl>
        )}
      </header>
      <div class={pane["doc"]}>
        {item !== null && (
          <>
            <Section name="User" role="user">
              <span class="quiet">
                <Text text={item.prompt} />
              </span>
            </Section>
            <Section name="Assistant" role="assistant">
              <span class="quiet">
                <Text text={item.response} /> …
              </span>
            </Section>
          </>
        )}
      </div>
    </>
  );
}
