/** Large numbers in little room: `12.3K`. */

export const COMPACT = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });
