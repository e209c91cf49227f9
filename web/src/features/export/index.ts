/** The parts of this feature that others may use. */

export { ExportCard } from "./ExportCard";
export { exportOpen, openExport } from "./exporting";
