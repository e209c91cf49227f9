/** What other rooms may use of this feature. */

export { Palette } from "./Palette";
export { paletteOpen } from "./palette";
