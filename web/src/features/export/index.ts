/** What other rooms may use of this feature. */

export { ExportCard } from "./ExportCard";
export { exportOpen } from "./exporting";
