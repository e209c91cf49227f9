/** The parts of this feature that others may use. */

export { bandOf, wordsOfBand } from "./band/band";
export { chartRecord } from "./chartRecord";
export { askedOf, isLog, limitsOf, spanOf, xOf } from "./choice";
export { DistributionChart } from "./figure/DistributionChart";
export { figureOf, MAP, wordsOfFigure } from "./figure/figure";
export { Only } from "./filter/Only";
export { whereOf } from "./filter/filter";
export { MetricsPage } from "./MetricsPage";
export { dashesOf } from "./parts/dashes";
export { pointsOf, wordsOf } from "./points/points";
