/** The parts of this feature that others may use. */

export { AgreementCard } from "./AgreementCard";
export { JudgingBar } from "./JudgingBar";
export { JudgeButton } from "./JudgeButton";
export { wordOf } from "./words";
