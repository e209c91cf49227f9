/** What other rooms may use of this feature. */

export { ReportPage } from "./ReportPage";
