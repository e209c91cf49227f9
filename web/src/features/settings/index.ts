/** What other rooms may use of this feature. */

export { SettingsPage } from "./SettingsPage";
