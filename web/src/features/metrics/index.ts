/** The parts of this feature that others may use. */

export { Catalogue } from "./catalogue/Catalogue";
export { NearCard } from "./NearCard";
export { type Layout, layoutIn, pageAsked, setOption, spanOf } from "./choice";
export { MetricsPage } from "./MetricsPage";
export { useCurves } from "./useCurves";
export { cardClass, useMoves } from "./useMoves";
