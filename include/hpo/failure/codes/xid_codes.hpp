// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "hpo/failure/codes/error_code.hpp"

namespace hpo {

/// What helps first after an Xid.
enum class XidAction { nothing, restart_program, reset_device, restart_machine, check_power, update_driver, ask_vendor };

inline constexpr std::array<std::string_view, 7> xid_action_texts{"nothing has to be done",
                                                                  "start the program again",
                                                                  "reset the device",
                                                                  "restart the machine",
                                                                  "check the power cables of the device",
                                                                  "update the driver",
                                                                  "ask the vendor of the device"};
[[nodiscard]] constexpr std::string_view to_text(XidAction action) { return xid_action_texts[static_cast<std::size_t>(action)]; }

/// One number of the driver's Xid messages.
struct XidCode {
    int code;
    std::string_view what;  ///< what it reports, without a subject that is known: "a page fault of the device's memory"
    ErrorMeaning meaning;
    XidAction action;
};

/// The Xids that devices for computing report. Numbers and first actions are from NVIDIA's catalog for Ampere and newer devices
/// (https://docs.nvidia.com/deploy/xid-errors/). A number with the action `nothing` reports no failure.
inline constexpr auto xid_codes = std::to_array<XidCode>({
    {8, "the device stopped processing", error_meaning::kernel_fault, XidAction::restart_program},
    {11, "a command that the device does not have", error_meaning::kernel_fault, XidAction::restart_program},
    {13, "an exception of a kernel", error_meaning::kernel_fault, XidAction::restart_program},
    {25, "an illegal command", error_meaning::kernel_fault, XidAction::restart_program},
    {31, "a page fault of the device's memory", error_meaning::kernel_fault, XidAction::restart_program},
    {32, "a damaged command buffer", error_meaning::kernel_fault, XidAction::restart_program},
    {37, "an unknown method of the firmware", error_meaning::kernel_fault, XidAction::nothing},
    {38, "a timeout of the firmware's watchdog", error_meaning::lost_context, XidAction::nothing},
    {39, "an exception of a copy engine", error_meaning::lost_context, XidAction::restart_program},
    {40, "an exception of a copy engine", error_meaning::lost_context, XidAction::restart_program},
    {41, "an exception of a copy engine", error_meaning::lost_context, XidAction::restart_program},
    {43, "the device ended a program's work after an error", error_meaning::kernel_fault, XidAction::restart_program},
    {44, "a fault while contexts were switched", error_meaning::lost_context, XidAction::nothing},
    {45, "the driver removed a program's work", error_meaning::lost_context, XidAction::restart_program},
    {46, "the device does not answer", error_meaning::broken_device, XidAction::reset_device},
    {48, "a memory error that ECC cannot correct", error_meaning::broken_device, XidAction::reset_device},
    {54, "too little power", error_meaning::broken_device, XidAction::check_power},
    {60, "an exception of the security processor", error_meaning::lost_context, XidAction::restart_program},
    {62, "the power controller halted", error_meaning::broken_device, XidAction::reset_device},
    {63, "a row of memory was replaced", error_meaning::contained, XidAction::nothing},
    {64, "a row of memory could not be replaced", error_meaning::broken_device, XidAction::reset_device},
    {66, "a forbidden register access of the firmware", error_meaning::kernel_fault, XidAction::nothing},
    {67, "a failed check of the firmware", error_meaning::kernel_fault, XidAction::nothing},
    {68, "an exception of a video decoder", error_meaning::lost_context, XidAction::restart_program},
    {69, "an illegal class of a kernel's command", error_meaning::kernel_fault, XidAction::restart_program},
    {70, "an exception of a copy engine", error_meaning::lost_context, XidAction::restart_program},
    {71, "an exception of a copy engine", error_meaning::lost_context, XidAction::restart_program},
    {72, "an exception of a copy engine", error_meaning::lost_context, XidAction::restart_program},
    {74, "an error of NVLink", error_meaning::broken_device, XidAction::reset_device},
    {75, "an exception of a copy engine", error_meaning::lost_context, XidAction::restart_program},
    {76, "an exception of a copy engine", error_meaning::lost_context, XidAction::restart_program},
    {77, "an exception of a copy engine", error_meaning::lost_context, XidAction::restart_program},
    {78, "a virtual device that does not start", error_meaning::unfit_machine, XidAction::update_driver},
    {79, "the device has fallen off the bus", error_meaning::broken_device, XidAction::restart_machine},
    {80, "a command buffer with a wrong checksum", error_meaning::kernel_fault, XidAction::restart_program},
    {85, "an exception of a copy engine", error_meaning::lost_context, XidAction::restart_program},
    {92, "many memory errors that ECC corrected", error_meaning::contained, XidAction::nothing},
    {93, "too many writes to the device's settings", error_meaning::contained, XidAction::nothing},
    {94, "a memory error that was contained in one program", error_meaning::contained, XidAction::restart_program},
    {95, "a memory error that was not contained", error_meaning::broken_device, XidAction::reset_device},
    {108, "a translation error of a remote device", error_meaning::contained, XidAction::nothing},
    {109, "a timeout while contexts were switched", error_meaning::lost_context, XidAction::reset_device},
    {110, "a fault of the security processor", error_meaning::broken_device, XidAction::reset_device},
    {119, "the device's system processor does not answer", error_meaning::broken_device, XidAction::reset_device},
    {120, "an error of the device's system processor", error_meaning::broken_device, XidAction::reset_device},
    {121, "an error between the processor and the device", error_meaning::contained, XidAction::nothing},
    {136, "a link that could not be trained", error_meaning::broken_device, XidAction::reset_device},
    {137, "an access error of NVLink", error_meaning::contained, XidAction::nothing},
    {140, "a memory error that ECC did not catch", error_meaning::broken_device, XidAction::reset_device},
    {143, "the device could not be initialised", error_meaning::broken_device, XidAction::reset_device},
    {144, "an error of NVLink", error_meaning::broken_device, XidAction::reset_device},
    {145, "an error of NVLink", error_meaning::broken_device, XidAction::reset_device},
    {146, "an error of NVLink", error_meaning::broken_device, XidAction::reset_device},
    {149, "an error of NVLink", error_meaning::broken_device, XidAction::reset_device},
    {150, "an error of NVLink", error_meaning::broken_device, XidAction::reset_device},
    {151, "a failed change of keys", error_meaning::broken_device, XidAction::restart_machine},
    {154, "another action is needed than before", error_meaning::broken_device, XidAction::nothing},
    {155, "an error of NVLink", error_meaning::broken_device, XidAction::reset_device},
    {156, "a part of the device was retired", error_meaning::broken_device, XidAction::reset_device},
    {157, "a part of the device could not be retired", error_meaning::contained, XidAction::nothing},
    {158, "a timeout that the device does not survive", error_meaning::broken_device, XidAction::reset_device},
    {171, "an error of the device's memory", error_meaning::broken_device, XidAction::ask_vendor},
    {172, "an error of the device's memory", error_meaning::broken_device, XidAction::ask_vendor},
});

/// The Xid with this number, or null.
[[nodiscard]] constexpr const XidCode* xid_code(int code) {
    for (const XidCode& each : xid_codes) {
        if (each.code == code) return &each;
    }
    return nullptr;
}

}  // namespace hpo
