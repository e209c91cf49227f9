/** The parts of this feature that others may use. */

export { PromptStrip } from "./PromptStrip";
