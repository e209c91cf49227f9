/** The beginning and the end of a response, as lists show them. */

const OPENING = /^\s*<(think|thinking|reasoning)>\s*/;
const CLOSING = /<\/(think|thinking|reasoning)>\s*/;
const IMAGE = /data:image\/[\w.+-]{1,20};base64,[\w+/=-]*/g;
const MARKER = /<\|[^|<>]{1,40}\|>/g;
/** Only tags, the last perhaps cut off: a list's beginning of a response may end with them. */
const TAGS = /^(?:<\/?\w{0,20}(?:>\s*|$))*$/;

/** A text without its images. */
export const bare = (text: string): string => (text.includes("data:image/") ? text.replaceAll(IMAGE, "(image)") : text);

/** The beginning of a response without the tags of thoughts and templates, and whether it is a thought. */
export function preview(raw: string): { text: string; isThought: boolean } {
  const text = bare(raw);
  const begin = OPENING.exec(text)?.[0] ?? "";
  const end = CLOSING.exec(text);
  const answer =
    end === null
      ? ""
      : text
          .slice(end.index + end[0].length)
          .replaceAll(MARKER, " ")
          .trim();
  if (!TAGS.test(answer)) return { text: answer, isThought: false };
  const thought = text.slice(begin.length, end?.index).replaceAll(MARKER, " ");
  return { text: thought, isThought: begin !== "" || end !== null };
}

/** The end of a response without template markers; the whole text of a short one. */
export function ending(item: { response: string; response_end: string }): string {
  return bare(item.response_end === "" ? item.response : item.response_end)
    .replaceAll(MARKER, " ")
    .trim();
}

/** A text of a list without a pad token; a prompt begins after `after`, if it has that. */
export function unpadded(text: string, pad: string, after = ""): string {
  const at = after === "" ? -1 : text.indexOf(after);
  const rest = at < 0 ? text : text.slice(at + after.length);
  return pad === "" || /^\d+$/.test(pad) ? rest : rest.replaceAll(pad, " ").trim();
}
