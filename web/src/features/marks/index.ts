/** The parts of this feature that others may use. */

export { Conflict } from "./Conflict";
export { LinkDialog } from "./LinkDialog";
export { SharedNotes, ShareButton } from "./Shared";
export { MarkButtons, Note } from "./SampleMarks";
export { UnsavedMarks } from "./UnsavedMarks";
export { openNote, toggleBookmark } from "./marking";
