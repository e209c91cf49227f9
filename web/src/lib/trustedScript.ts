/** Addresses of scripts that the page hands to the browser itself, as its Trusted Types demand. */

interface Policy {
  createScriptURL(url: string): string;
}

interface Policies {
  createPolicy(name: string, rules: { createScriptURL(url: string): string }): Policy;
}

let policy: Policy | undefined;

/** The address of one of the app's own workers. Anything of another origin throws. */
export function trusted(url: string): string {
  const { trustedTypes } = globalThis as { trustedTypes?: Policies };
  if (trustedTypes === undefined) return own(url);
  policy ??= trustedTypes.createPolicy("rolloupe", { createScriptURL: own });
  return policy.createScriptURL(url);
}

function own(url: string): string {
  if (new URL(url).origin !== new URL(import.meta.url).origin) throw new TypeError(`${url} is no script of this app`);
  return url;
}
