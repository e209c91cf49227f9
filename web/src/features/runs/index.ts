/** The parts of this feature that others may use. */

export { RunsPage } from "./RunsPage";
export { matchingRuns } from "./runSearch";
export { Splits } from "./Splits";
export { RunEditor } from "./picker/RunEditor";
export { RunPicker } from "./picker/RunPicker";
