import { expect, it, vi } from "vitest";
import { createSession } from "../../state/session";
import { drawn } from "../../testing/page";
import { Dialog } from "./Dialog";

it("stays open when the event of an earlier closing arrives, and closes at once on Escape", async () => {
  const close = vi.fn<() => void>();
  const host = await drawn(
    <Dialog label="Card" isOpen close={close}>
      Text
    </Dialog>,
    createSession(),
  );
  const dialog = host.querySelector("dialog");
  dialog?.dispatchEvent(new Event("close"));
  expect(close).not.toHaveBeenCalled();
  dialog?.dispatchEvent(new Event("cancel"));
  expect(close).toHaveBeenCalledOnce();
  close.mockClear();
  dialog?.close();
  dialog?.dispatchEvent(new Event("close"));
  expect(close).toHaveBeenCalled();
});
