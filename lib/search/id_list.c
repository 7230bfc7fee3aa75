#include <string.h>

#include "search/internal.h"

/* Returns the index of an id in a list, or its insertion point. */
static int place_of(const struct clf__id_list *list, int32_t id)
{
    int low = 0, high = list->count;
    if (high > 0 && list->ids[high - 1] < id) {
        return high; /* fast path for long lists inserted in ascending order */
    }
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (list->ids[middle] < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

int clf__id_list_find(const struct clf__id_list *list, int32_t id)
{
    int place = place_of(list, id);
    return place < list->count && list->ids[place] == id ? place : -1;
}

int clf__id_list_insert(struct clf__id_list *list, int32_t id)
{
    int place = place_of(list, id);
    if (place < list->count && list->ids[place] == id) {
        return 0;
    }
    memmove(list->ids + place + 1, list->ids + place, (size_t)(list->count - place) * sizeof *list->ids);
    list->ids[place] = id;
    list->count++;
    return 1;
}
