/** The parts of this feature that others may use. */

export { SettingsPage } from "./SettingsPage";
