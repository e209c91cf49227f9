/** What other rooms may use of this feature. */

export { SamplePane } from "./SamplePane";
export { Turn } from "./transcript/Turn";
export { VIEWS } from "./views";
