/** What other rooms may use of this feature. */

export { Login } from "./Login";
export { SignedOut } from "./SignedOut";
