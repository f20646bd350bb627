/** The word with which the scripts of `signalbox completion` ask for names. */
export const namesCommand = 'complete-names';
