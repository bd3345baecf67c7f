/**
 * Where the fields that somebody will ask for lie in the bytes of some events, as a walk over these bytes found them:
 * each name at most once, as a key of the event itself.
 */
export class FieldNotes {
  readonly names: readonly string[];
  /**
   * Of each event and field two numbers, counted from where the event begins: where the value begins and where it ends;
   * both 0 where the event has no such field. A text that its bytes do not spell letter by letter, as it has escapes or
   * letters beyond ASCII, begins at a negative number.
   */
  readonly places: Int32Array;

  constructor(names: readonly string[], events: number) {
    this.names = names;
    this.places = new Int32Array(2 * names.length * events);
  }

  /** The index in `places` of a field, for the event with that place. */
  at(place: number, note: number): number {
    return 2 * (place * this.names.length + note);
  }
}
