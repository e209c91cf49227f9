import { expect, it } from "vitest";
import { ApiError } from "../../api";
import { draw, drawn, settled } from "../../testing/page";
import { useLoaded } from "./useLoaded";

let answer: (value: string) => void = () => undefined;
let refuse: (error: Error) => void = () => undefined;
const load = async (): Promise<string> => new Promise((give, fail) => ([answer, refuse] = [give, fail]));

function Shown({ version, of }: { version: string; of: string }) {
  const { value, error } = useLoaded(`${of} ${version}`, load, of);
  return <p>{`${value ?? "nothing"} ${error?.message ?? ""}`.trim()}</p>;
}

it("shows the last answer about the same until the next is here, and none about another", async () => {
  const host = await drawn(<Shown version="1" of="a" />);
  const show = async (version: string, of: string): Promise<string | null> => {
    draw(<Shown version={version} of={of} />, host);
    await settled();
    return host.textContent;
  };
  expect(host.textContent).toBe("nothing");
  answer("first");
  await settled();
  expect(await show("2", "a")).toBe("first");
  refuse(new ApiError(500, "broken", ""));
  expect(await show("2", "a")).toBe("first broken");
  expect(await show("3", "a")).toBe("first");
  answer("third");
  expect(await show("3", "a")).toBe("third");
  expect(await show("3", "b")).toBe("nothing");
});
