/** The ways to look at a sample. */

import type { View } from "../../lib/address/address";

export const VIEWS: readonly { value: View; label: string; title: string }[] = [
  { value: "transcript", label: "Transcript", title: "The conversation (r)" },
  { value: "tokens", label: "Tokens", title: "Each token, coloured by one of its values (t)" },
  { value: "group", label: "Group", title: "All samples of the group, side by side (v)" },
  { value: "text", label: "Text", title: "The whole sample as one text, as the trainer saw it" },
  { value: "raw", label: "Raw", title: "The record as in its file, with file and bytes (r)" },
];
