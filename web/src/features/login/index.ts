/** The parts of this feature that others may use. */

export { Login } from "./Login";
export { SignedOut } from "./SignedOut";
