import { expect, it } from "vitest";
import { tokenSample } from "../../../testing/tokens";
import { tokensTable } from "./tokensTable";

it("has a line for each token with every series, quoted, and without formulas", () => {
  const text = ["=1+1", ' a "b"', "x,\ty\n"];
  const series = { logprobs: [-0.5, NaN, Infinity], "=kl": [1e-9, 2, -0] };
  const tokens = tokenSample({ text, ids: [7, 8, 9], series });
  expect(tokensTable(tokens, ",").split("\r\n")).toEqual([
    "position,id,text,role,mask,logprobs,'=kl",
    "0,7,'=1+1,assistant,true,-0.5,1e-9",
    '1,8," a ""b""",assistant,false,,2',
    '2,9,"x,\ty\n",assistant,true,Infinity,0',
    "",
  ]);
  expect(tokensTable(tokens, "\t")).toContain('2\t9\t"x,\ty\n"\tassistant');
});
