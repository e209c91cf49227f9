/**
 * The current look of tokens: a background, empty for none, and whether the first and the second rule take them out.
 */

export interface Paint {
  background: (token: number) => string;
  isFirst: (token: number) => boolean;
  isSecond: (token: number) => boolean;
}
