/** A link to another place of the page. */

import type { Place } from "../../lib/address/address";
import { useSession } from "../../state/useSession";

export function To({ place, text }: { place: Partial<Place>; text: string }) {
  const session = useSession();
  return (
    <a href={session.place.href(place)} onClick={session.place.onLink(place)}>
      {text}
    </a>
  );
}
