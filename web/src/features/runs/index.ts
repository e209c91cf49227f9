/** What other rooms may use of this feature. */

export { RunsPage } from "./RunsPage";
export { Splits } from "./Splits";
export { RunPicker } from "./picker/RunPicker";
