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
  ticketed: vi.fn<typeof api.ticketed>(async () => Promise.resolve(null)),
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
  vi.mocked(api.ticketed).mockClear();
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

async function pressDownload(host: HTMLElement): Promise<void> {
  host.querySelector<HTMLElement>("dialog a[download]")?.click();
  await settled();
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

it("stays on a sample whose note is open", async () => {
  const stay = vi.spyOn(session.browse, "stay");
  await share("", session);
  expect(stay).toHaveBeenCalled();
});

it("begins with the focus on Download, which closes the card", async () => {
  const host = await share("as typed before", session);
  expect(host.querySelector("dialog a")?.hasAttribute("autofocus")).toBe(true);
  await pressDownload(host);
  expect(api.ticketed).toHaveBeenCalledOnce();
  expect(exportOpen.value).toBeNull();
});

it("says in the card that a note could not be saved", async () => {
  vi.mocked(api.changeState).mockRejectedValue(new Error("offline"));
  const host = await share("as typed, once more", session);
  expect(isUnsaved(ofSample("r", ID))).toBe(true);
  expect(host.querySelector("[role=alert]")?.textContent).toContain("could not be saved, so the file lacks it");
});

it("asks for no file while a note fails to be saved; once the card says so, for one without it", async () => {
  let fail = (): void => undefined;
  vi.mocked(api.changeState).mockImplementation(
    async () => new Promise((_, reject) => (fail = () => reject(new Error("offline")))),
  );
  const host = await share("as typed, and sent at once", session);
  await pressDownload(host);
  fail();
  await settled();
  expect(api.ticketed).not.toHaveBeenCalled();
  expect(host.querySelector("[role=alert]")?.textContent).toContain("could not be saved");
  await pressDownload(host);
  expect(api.ticketed).toHaveBeenCalledOnce();
  expect(exportOpen.value).toBeNull();
});
