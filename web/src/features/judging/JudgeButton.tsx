/** The button of a sample that starts the judging, and says how the sample was judged. */

import { useSession } from "../../state/useSession";
import { sampleMark } from "../../state/marks";
import { mayWrite } from "../../state/team/people";
import { wordOf } from "./words";
import style from "./JudgeButton.module.css";

export function JudgeButton({ run, id }: { run: string; id: string }) {
  const { judging } = useSession();
  const { judgement } = sampleMark(run, id);
  const isOn = judging.queue.value !== null;
  if (!mayWrite.value) return null;
  return (
    <button
      type="button"
      class={`action ${style[judgement] ?? ""}`}
      aria-pressed={isOn}
      title={isOn ? "End the judging (j)" : "Judge samples one after another (j)"}
      onClick={() => (isOn ? judging.end() : void judging.begin())}
    >
      {judgement === "" ? "Judge" : `Judged ${wordOf(judgement)}`}
    </button>
  );
}
