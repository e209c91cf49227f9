import { expect, it } from "vitest";
import type { DistributionReply } from "../../api/types.gen";
import { between } from "../../lib/distribution/heatMap";
import { drawn } from "../../testing/page";
import { HeatMap } from "./HeatMap";

const REWARDS: DistributionReply = {
  edges: [0, 0.5, 1.5],
  first_steps: [1, 2],
  last_steps: [1, 2],
  counts: [
    [8, 0],
    [4, 4],
  ],
};

/** The values that the axis of a map names, where 1 is the greatest value of the run. */
async function named(map: DistributionReply): Promise<(string | null)[]> {
  const no = (): void => undefined;
  const host = await drawn(
    <HeatMap title="Reward" map={map} most={1} colour={1} current={null} pointed={null} point={no} open={no} />,
  );
  return [...host.querySelectorAll("[role=slider] > span")].map(({ textContent }) => textContent);
}

it("names both ends, even of steps with a single value", async () => {
  expect(await named(REWARDS)).toEqual(["1.00", "0.00"]);
  expect(await named(between(REWARDS, [1, 1]))).toEqual(["1.00", "0.00"]);
});

it("names the only value alone, and not that of other steps", async () => {
  const equal = { ...REWARDS, counts: [[8], [8]] };
  expect(await named({ ...equal, edges: [1, 1.5] })).toEqual(["1.00"]);
  expect(await named({ ...equal, edges: [0, 0.5] })).toEqual(["0.00"]);
});
