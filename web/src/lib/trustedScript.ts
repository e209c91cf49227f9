/** Addresses of scripts that the page passes to the browser, as its Trusted Types require. */

interface Policy {
  createScriptURL(url: string): string;
}

interface Policies {
  createPolicy(name: string, rules: { createScriptURL(url: string): string }): Policy;
}

/** Defined only in some browsers. */
declare const trustedTypes: Policies | undefined;

let policy: Policy | undefined;

/** The address of one of this app's workers. Throws for an address of another origin. */
export function trusted(url: string): string {
  if (typeof trustedTypes === "undefined") return checked(url);
  policy ??= trustedTypes.createPolicy("rolloupe", { createScriptURL: checked });
  return policy.createScriptURL(url);
}

function checked(url: string): string {
  if (new URL(url).origin !== new URL(import.meta.url).origin)
    throw new TypeError(`${url} is not a script of this app`);
  return url;
}
