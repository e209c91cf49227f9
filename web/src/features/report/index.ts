/** The parts of this feature that others may use. */

export { ReportPage } from "./ReportPage";
