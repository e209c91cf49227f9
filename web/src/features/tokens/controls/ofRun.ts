/** The suffix of the rule that the run was trained with. */
export const ofRun = (isMoved: boolean): string => (isMoved ? " (the run's, changed)" : " (the run's)");
