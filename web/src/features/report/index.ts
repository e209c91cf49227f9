/** The parts of this feature that others may use. */

export { Others as Reports } from "./NoReport";
export { ReportPage } from "./ReportPage";
