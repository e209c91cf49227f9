/** The parts of this feature that others may use. */

export { FindingsPage } from "./FindingsPage";
