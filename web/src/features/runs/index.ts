/** The parts of this feature that others may use. */

export { RunsPage } from "./RunsPage";
export { Splits } from "./Splits";
export { RunPicker } from "./picker/RunPicker";
