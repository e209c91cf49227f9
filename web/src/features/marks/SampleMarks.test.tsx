import { beforeEach, expect, it, vi } from "vitest";
import * as api from "../../api";
import { START } from "../../lib/address/address";
import { isUnsaved, ofSample } from "../../state/marks";
import { runs } from "../../state/runs";
import { createSession, type Session } from "../../state/session";
import { draw, drawn, settled } from "../../testing/page";
import { reply, runItem } from "../../testing/records";
import { ExportCard, exportOpen, openExport } from "../export";
import { noteKey, noteOpen } from "./marking";
import { Note } from "./SampleMarks";

vi.mock(import("../../api"), async (original) => ({
  ...(await original()),
  changeState: vi.fn<typeof api.changeState>(),
}));

const ID = "train/1/0/0";

/** Type a note, and share the sample without saving it. */
async function share(text: string, session: Session): Promise<HTMLElement> {
  runs.value = [runItem()];
  session.sample.now.value = reply({ id: ID });
  noteOpen.value = noteKey("r", ID);
  const page = (
    <>
      <Note run="r" id={ID} />
      <ExportCard />
    </>
  );
  const host = await drawn(page, session);
  const field = host.querySelector("textarea");
  if (field === null) throw new Error("there is a field");
  field.value = text;
  field.dispatchEvent(new Event("input", { bubbles: true }));
  await settled();
  openExport("sample", "html");
  await settled();
  draw(page, host, session);
  return host;
}

beforeEach(() => {
  exportOpen.value = null;
});

const session = createSession({ ...START, page: "rollouts", run: "r", split: "train", step: 1, sample: ID });

it("saves a note that is being written before the sample is shared", async () => {
  vi.mocked(api.changeState).mockImplementation(async (body) => ({ ...body, version: 1 }) as never);
  const host = await share("as typed", session);
  expect(vi.mocked(api.changeState).mock.lastCall?.[0].sample_mark?.note).toBe("as typed");
  expect(host.querySelector("dialog")?.textContent).not.toContain("could not be saved");
});

it("says in the card that a note could not be saved", async () => {
  vi.mocked(api.changeState).mockRejectedValue(new Error("offline"));
  const host = await share("as typed, once more", session);
  expect(isUnsaved(ofSample("r", ID))).toBe(true);
  expect(host.querySelector("[role=alert]")?.textContent).toContain("could not be saved, so the file lacks it");
});
