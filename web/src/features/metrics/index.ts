/** The parts of this feature that others may use. */

export { MetricsPage } from "./MetricsPage";
