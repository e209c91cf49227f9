/** The parts of this feature that others may use. */

export { RunsPage } from "./RunsPage";
export { matchingRuns } from "./runSearch";
export { Splits } from "./Splits";
export { AddRuns } from "./picker/AddRun";
export { RunEditor } from "./picker/RunEditor";
export { RunName } from "./picker/RunName";
export { RunPicker } from "./picker/RunPicker";
export { OnlyRun } from "./OnlyRun";
export { RunAbout } from "./RunAbout";
export { TakeOut } from "./picker/TakeOut";
