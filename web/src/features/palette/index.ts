/** The parts of this feature that others may use. */

export { Palette } from "./Palette";
export { paletteOpen } from "./palette";
