/** The parts of this feature that others may use. */

export { SamplePane } from "./SamplePane";
export { Turn } from "./transcript/Turn";
export { VIEWS } from "./views";
export { Facts } from "./Facts";
export { Transcript } from "./transcript/Transcript";
